"""What evals, studies and bench share: tables, numbers as text, pages, plots, and the paper's own numbers."""
