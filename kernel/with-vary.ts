/** The last answer: nearly all responses of a server vary by the same names, and a text that was sent before is checked faster. */
let last = { held: '', names: '', joined: '' }

const join = (held: string, names: string): string => {
  if (held !== last.held || names !== last.names) last = { held, names, joined: `${held}, ${names}` }
  return last.joined
}

/** One value of `Vary` that holds the names of two. RFC 9110, section 12.5.5 */
export const withVary = (held: unknown, names: string): string => {
  const own = Array.isArray(held) ? held.join(', ') : typeof held === 'string' ? held : ''
  if (own.trim() === '*') return '*'
  return own === '' ? names : join(own, names)
}
