/** One row of a Markdown table. `<` is escaped except in cells with code, where Markdown shows it as it is. */
const escaped = (cell: string): string => {
  const line = cell.replaceAll('|', '\\|').replace(/\s*\n\s*/g, ' ')
  return line.includes('`') ? line : line.replaceAll('<', '&lt;')
}

export const row = (cells: readonly string[]): string => `| ${cells.map(escaped).join(' | ')} |`
