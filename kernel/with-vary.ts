/** One value of `Vary` that holds the names of two. RFC 9110, section 12.5.5 */
export const withVary = (held: unknown, names: string): string => {
  const own = Array.isArray(held) ? held.join(', ') : typeof held === 'string' ? held : ''
  if (own.trim() === '*') return '*'
  return own === '' ? names : `${own}, ${names}`
}
