"""On PYTHONPATH: genesisd's catalog also has the faulty patches of ``catalog/``, in this process and in its children.

A build is made by a child of the daemon, which has to know the same patches.
"""

from pathlib import Path

import genesisd.patches.catalog as shipped

shipped.__path__.append(str(Path(__file__).with_name("catalog")))
