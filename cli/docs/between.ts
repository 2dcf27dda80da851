/**
 * Replaces the text between `<!-- generated: name -->` and `<!-- /generated -->`. Throws when the marks are missing.
 */
const END = '<!-- /generated -->'

export const between = (text: string, name: string, generated: string): string => {
  const begin = `<!-- generated: ${name} -->`
  const start = text.indexOf(begin)
  const end = text.indexOf(END, start)
  if (start === -1 || end === -1) throw new Error(`There is no ${begin} … ${END} to put the generated part between.`)
  return `${text.slice(0, start + begin.length)}\n\n${generated}\n\n${text.slice(end)}`
}
