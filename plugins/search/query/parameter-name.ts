/** The name of a search parameter as it is asked: `subject:Patient.name:exact`. */

export interface Name {
  readonly code: string
  readonly modifier: string | undefined
  /** What follows a dot: the parameter of the type referred to. */
  readonly rest: string | undefined
}

/** Code and modifier of the first link, and what follows a dot. */
export const readName = (name: string): Name => {
  const dot = name.indexOf('.')
  const head = dot === -1 ? name : name.slice(0, dot)
  const rest = dot === -1 ? undefined : name.slice(dot + 1)
  const colon = head.indexOf(':')
  return colon === -1
    ? { code: head, modifier: undefined, rest }
    : { code: head.slice(0, colon), modifier: head.slice(colon + 1), rest }
}

/** For messages. */
export const short = (text: string): string => text.slice(0, 100)
