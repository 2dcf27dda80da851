/** The caller that owns a job. */
import type { Caller } from '../../kernel/index.ts'
import type { JobRow } from './tables.ts'

export type Owner = Pick<JobRow, 'client' | 'person'>

export const ownerOf = ({ client = '', user = '' }: Caller): Owner => ({ client, person: user })

/** The caller of the kick-off, without its token. */
export const callerOfJob = ({ client, person }: Owner): Caller => ({
  kind: person !== '' ? 'user' : client !== '' ? 'client' : 'anonymous',
  ...(client !== '' && { client }),
  ...(person !== '' && { user: person }),
})

export const isOwner = (owner: Owner, caller: Caller): boolean => {
  const { client, person } = ownerOf(caller)
  return owner.client === client && owner.person === person
}
