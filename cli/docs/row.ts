/** One row of a Markdown table. In cells of code a tag is text already. */
const escaped = (cell: string): string => {
  const line = cell.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
  return line.includes('`') ? line : line.replaceAll('<', '&lt;')
}

export const row = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
