"""What is known of the wheels of a package that an installer lacks, and the line that installs one."""
