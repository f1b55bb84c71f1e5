/** Rows under their headings, in columns as wide as they need. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[]): string {
  // Not Math.max(...rows): the stack limits the number of arguments.
  const widths = headings.map((heading, column) =>
    rows.reduce((width, row) => Math.max(width, (row[column] ?? '').length), heading.length),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join('  ')
      .trimEnd();
  return [headings, ...rows].map(line).join('\n');
}

/** Names and values, one pair a line, the values aligned. */
export function facts(pairs: Readonly<Record<string, string>>): string {
  const width = Math.max(...Object.keys(pairs).map((name) => name.length));
  return Object.entries(pairs)
    .map(([name, value]) => `${name.padEnd(width)}  ${value}`)
    .join('\n');
}
