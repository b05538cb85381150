"""Reports: measurements, comparisons, pictures. Import the module that is needed; some start compilers."""
