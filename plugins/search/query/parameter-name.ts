/** Parses the name of a search parameter: `subject:Patient.name:exact`. */

export interface Name {
  readonly code: string
  readonly modifier: string | undefined
  /** The rest of a chain, after the first dot: the parameter of the type that is referred to. */
  readonly rest: string | undefined
}

/** Splits the name at its first dot, and the part before it at its first colon. */
export const readName = (name: string): Name => {
  const dot = name.indexOf('.')
  const head = dot === -1 ? name : name.slice(0, dot)
  const rest = dot === -1 ? undefined : name.slice(dot + 1)
  const colon = head.indexOf(':')
  return colon === -1
    ? { code: head, modifier: undefined, rest }
    : { code: head.slice(0, colon), modifier: head.slice(colon + 1), rest }
}

/** Shortens a client's text for error messages. */
export const short = (text: string): string => text.slice(0, 100)
