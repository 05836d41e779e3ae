// What the theme leaves without a name.
const search = document.querySelector(".md-search");
search?.setAttribute("aria-label", search.querySelector(".md-search__input").getAttribute("aria-label"));
const name = () => document.querySelectorAll(".md-code__nav:not([aria-label])").forEach((nav) => {
  const number = [...document.querySelectorAll("pre")].indexOf(nav.closest("pre")) + 1;
  nav.setAttribute("aria-label", `${nav.querySelector("button")?.title ?? ""} ${number}`);
});
new MutationObserver(name).observe(document.body, { childList: true, subtree: true });
name();
