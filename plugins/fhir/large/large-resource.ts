/**
 * A large resource as hooks and checks are given it: its members are parsed when they are first asked for, so that
 * nobody waits for what nobody reads. It carries what a thread has found about it.
 */
import type { JsonMember, Outline } from '../../model/service.ts'
import { objectFromPieces } from '../../model/service.ts'
import { carryFindings, type Findings } from '../../storage/service.ts'

type Json = Record<string, unknown>

/** `members` lie in `text`, which was read strictly; `pieces` are those that are short. */
export const toLargeResource = (
  text: () => string,
  members: readonly JsonMember[],
  pieces: readonly (string | undefined)[],
  findings: Findings | undefined,
  outline: Outline | undefined,
): Json => {
  const resource = objectFromPieces(text, members, pieces, outline)
  if (findings !== undefined) carryFindings(resource, findings)
  return resource
}
