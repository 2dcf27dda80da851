/** The message of a thrown value in one line, for an operator's terminal. */
export const messageOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return `it threw ${String(thrown).replace(/\s+/g, ' ') || 'nothing'}`
  // Node leaves the message of a refused connection empty and says it in the code.
  const said = thrown.message || (thrown as NodeJS.ErrnoException).code || thrown.name
  return said.trim().replace(/\s*\n\s*/g, ' ')
}
