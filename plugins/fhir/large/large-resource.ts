/**
 * A large resource as hooks and checks get it: each member is parsed at its first use, so that unused members cost
 * nothing. It carries the findings of the thread.
 */
import type { JsonMember, Outline } from '../../model/service.ts'
import { objectFromPieces } from '../../model/service.ts'
import { carryFindings, type Findings } from '../../storage/service.ts'

type Json = Record<string, unknown>

/** `members` are the members in `text`, which was parsed strictly; `pieces` are the texts of short members. */
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
