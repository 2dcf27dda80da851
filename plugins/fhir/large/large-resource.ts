/**
 * A large resource as hooks and checks are given it: its members are parsed when they are first asked for, so that
 * nobody waits for what nobody reads. It carries what a thread has found about it.
 */
import type { Outline } from '../../model/json/outline.ts'
import { objectLazily } from '../../model/json/parse-lazily.ts'
import type { Member } from '../../model/json/scan.ts'
import { carryFindings, type Findings } from '../../storage/findings.ts'

type Json = Record<string, unknown>

/** `members` lie in `text`, which was read strictly. */
export const toLargeResource = (
  text: string,
  members: readonly Member[],
  findings: Findings | undefined,
  outline: Outline | undefined,
): Json => {
  const resource = objectLazily(text, members, outline)
  if (findings !== undefined) carryFindings(resource, findings)
  return resource
}
