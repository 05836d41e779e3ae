"""Which variants of a wheel fit a machine, the best first: on every device of it, not on one alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from msgspec import Struct

from gpuenv.i18n.messages import tr
from gpuenv.resolution.wheel_variants.machine import DeviceSupport
from gpuenv.resolution.wheel_variants.metadata import VariantMetadata, VariantProperty, WheelVariant

_Values = Mapping[tuple[str, str], tuple[str, ...]]


class JudgedVariant(Struct, frozen=True):
    """A variant, and why it does not fit; None where it does."""

    variant: WheelVariant
    unfit: str | None


def judge_variants(
    metadata: VariantMetadata, supports: tuple[DeviceSupport, ...]
) -> tuple[JudgedVariant, ...]:
    """Return the variants that fit, in the order of PEP 825, then those that do not, by their labels."""
    judged = [JudgedVariant(variant, _why_not(variant, supports)) for variant in metadata.variants]
    supported = _supported(supports)
    fitting = [item for item in judged if item.unfit is None]
    others = [item for item in judged if item.unfit is not None]
    return (
        *sorted(fitting, key=lambda item: _sort_key(item.variant, metadata, supported)),
        *sorted(others, key=lambda item: item.variant.label),
    )


def _supported(supports: tuple[DeviceSupport, ...]) -> _Values:
    """Return the values that some device supports: a build for two GPUs may have one for each of them."""
    values: dict[tuple[str, str], tuple[str, ...]] = {}
    for item in supports:
        feature = (item.namespace, item.feature)
        values[feature] = _joined(values.get(feature, ()), item.values)
    return values


def _why_not(variant: WheelVariant, supports: tuple[DeviceSupport, ...]) -> str | None:
    return next((why for item in variant.properties if (why := _missing(item, supports))), None)


def _missing(wanted: VariantProperty, supports: tuple[DeviceSupport, ...]) -> str | None:
    """Say which device supports none of a property's values, or that nothing here has the feature."""
    feature = (wanted.namespace, wanted.feature)
    there = [item for item in supports if (item.namespace, item.feature) == feature]
    if not there:
        return tr("nothing here is known to support {feature}", feature=" :: ".join(feature))
    for item in there:
        if not set(wanted.values) & set(item.values):
            return tr("{device} does not support {property}", device=item.device, property=wanted)
    return None


def _sort_key(variant: WheelVariant, metadata: VariantMetadata, supported: _Values) -> tuple[object, ...]:
    """Return steps 4 to 7 of the draft's order as a key: a list that ends comes after one that goes on.

    https://peps.python.org/pep-0825/#variant-ordering
    """
    namespaces = _joined(metadata.namespaces, (namespace for namespace, _ in supported))
    keys = sorted(_property_key(item, metadata, namespaces, supported) for item in variant.properties)
    return (*((0, key) for key in keys), (1, variant.label))


def _property_key(
    item: VariantProperty, metadata: VariantMetadata, namespaces: tuple[str, ...], supported: _Values
) -> tuple[int, int, int]:
    there = (feature for namespace, feature in supported if namespace == item.namespace)
    features = _joined(metadata.features.get(item.namespace, ()), there)
    here = supported[item.namespace, item.feature]
    values = _joined(metadata.values.get((item.namespace, item.feature), ()), here)
    best = min(values.index(value) for value in item.values if value in here)
    return namespaces.index(item.namespace), features.index(item.feature), best


def _joined(first: tuple[str, ...], more: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys((*first, *more)))
