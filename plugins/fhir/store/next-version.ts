/** The version that a change makes: its number, stamp and bytes. */
import type { Interaction } from '../../../kernel/index.ts'
import { packBody } from './body.ts'
import type { Change, Content } from './change.ts'
import { toInstant } from './stamp.ts'
import type { Store } from './store.ts'
import { DELETED, METHOD_SHIFT, METHODS, type Method, type VersionRow } from './tables.ts'
import { StoredVersion } from './version.ts'

const METHOD_OF: Readonly<Partial<Record<Interaction['kind'], Method>>> = {
  create: 'POST',
  delete: 'DELETE',
  patch: 'PATCH',
}

const methodOf = ({ interaction, kind }: Change): Method =>
  (interaction.kind !== 'operation' ? METHOD_OF[interaction.kind] : kind === 'revise' ? 'PATCH' : METHOD_OF[kind]) ??
  'PUT'

/** Of the row of a change. */
export const flagsOf = (change: Change, form: number): number =>
  (METHODS.indexOf(methodOf(change)) << METHOD_SHIFT) | form | (change.kind === 'delete' ? DELETED : 0)

/** The next version as a row: its number, stamp and bytes. */
export const nextVersion = (
  { types, stamper, nextRid }: Pick<Store, 'types' | 'stamper' | 'nextRid'>,
  change: Change,
  content: Content | undefined,
  previous: StoredVersion | undefined,
): StoredVersion => {
  const version = (previous?.version ?? 0) + 1
  const stamp = stamper.next()
  const text = content?.template.fill(change.id, version, toInstant(stamp))
  const body = text === undefined ? undefined : packBody(text)
  const row: VersionRow = {
    rid: previous?.rid ?? nextRid(),
    type: types.code(change.type) ?? 0,
    id: change.id,
    ver: version,
    upd: stamp,
    flags: flagsOf(change, body?.form ?? 0),
    body: body?.bytes ?? null,
  }
  return new StoredVersion(change.type, row, text)
}

/** Stands for what never was, so that deleting it answers like deleting what is deleted. */
export const absent = (type: string, id: string): StoredVersion =>
  new StoredVersion(type, { rid: 0, type: 0, id, ver: 0, upd: 0, flags: DELETED, body: null })
