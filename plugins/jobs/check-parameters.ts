/** Refuses what routes about a job do not know in their query, instead of ignoring it. */
import type { RequestContext } from '../../kernel/index.ts'
import { JobParameter } from './errors.ts'

const SHOWN = 64 // characters of an unknown name that the refusal quotes

/** Throws 400 for a parameter that is not in `known`. */
export const checkParameters = ({ url }: RequestContext, known: readonly string[] = []): void => {
  const start = url.indexOf('?')
  if (start === -1) return
  for (const name of new URLSearchParams(url.slice(start + 1)).keys())
    if (!known.includes(name))
      throw JobParameter(url.slice(0, start), name.slice(0, SHOWN), known.length === 0 ? 'none' : known.join(', '))
}
