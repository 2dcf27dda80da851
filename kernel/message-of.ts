/** What a thrown value says, in one line: for messages that an operator reads on a terminal. */
export const messageOf = (thrown: unknown): string => {
  if (!(thrown instanceof Error)) return `it threw ${String(thrown).replace(/\s+/g, ' ') || 'nothing'}`
  // Node leaves the message of a refused connection empty and says it in the code.
  const said = thrown.message || (thrown as NodeJS.ErrnoException).code || thrown.name
  return said.trim().replace(/\s*\n\s*/g, ' ')
}
