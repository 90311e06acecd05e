"""What is computed of a graph: ranks, components, degrees, distances."""
