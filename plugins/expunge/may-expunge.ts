/** Who may erase: a client that acts for itself with all rights on everything, and others only where a setting says so. */
import type { Invocation } from '../fhir/service.ts'
import { ExpungeForbidden, ExpungeInBundle, ExpungeOff } from './errors.ts'

/** Throws 403, and 400 for an entry of a Bundle. */
export const checkMayExpunge = (
  { request, interaction, ruling }: Pick<Invocation, 'request' | 'interaction' | 'ruling'>,
  allowsAnonymous: boolean,
): void => {
  const { kind, user } = request.caller
  if (kind === 'anonymous' ? !allowsAnonymous : kind !== 'client' || user !== undefined)
    throw (kind === 'anonymous' ? ExpungeOff() : ExpungeForbidden()).with({ isExpected: true })
  if (!ruling.covers()) throw ExpungeForbidden().with({ isExpected: true })
  if (interaction.entry !== undefined) throw ExpungeInBundle()
}
