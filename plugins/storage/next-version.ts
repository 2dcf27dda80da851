/** Makes the version that a change writes. */
import type { Interaction } from '../../kernel/index.ts'
import { compressBody } from './body/body.ts'
import { joinParts, type PackedPart, packPart } from './body/compressed-parts.ts'
import type { Change, NewContent } from './change.ts'
import { findingsOf } from './findings.ts'
import type { VersionRow } from './tables.ts'
import { StoredVersion } from './version.ts'
import { DELETED, METHOD_SHIFT, type Method, VERSION_METHODS } from './version-flags.ts'
import type { VersionStore } from './version-store.ts'

const METHOD_OF: Readonly<Partial<Record<Interaction['kind'], Method>>> = {
  create: 'POST',
  delete: 'DELETE',
  patch: 'PATCH',
}

const methodOf = ({ interaction, kind }: Change): Method =>
  (interaction.kind !== 'operation' ? METHOD_OF[interaction.kind] : kind === 'modify' ? 'PATCH' : METHOD_OF[kind]) ??
  'PUT'

/** The column `flags` of the row that a change writes. `form`: the bit of the encoding. */
export const versionFlags = (change: Change, form: number): number =>
  (VERSION_METHODS.indexOf(methodOf(change)) << METHOD_SHIFT) | form | (change.kind === 'delete' ? DELETED : 0)

/** The compressed parts of a large body, with the values between them, which are compressed here. */
const interleave = (parts: readonly PackedPart[], values: readonly string[]): readonly PackedPart[] =>
  parts.flatMap((part, at) => (at < values.length ? [part, packPart(values[at] as string)] : [part]))

/** The next version, with its number, version time and bytes. `rid` is the resource key: of `previous`, or a new one. */
export const nextVersion = (
  { types, versionClock }: Pick<VersionStore, 'types' | 'versionClock'>,
  rid: number,
  change: Change,
  content: NewContent | undefined,
  previous: StoredVersion | undefined,
): StoredVersion => {
  const version = (previous?.version ?? 0) + 1
  const stamp = versionClock.next(previous?.versionTime)
  const instant = versionClock.instant(stamp)
  const parts = findingsOf(content?.resource)?.parts
  // The text of a body that was compressed in parts is not built here: the version decompresses it if it is needed.
  const text = parts === undefined ? content?.template.fill(change.id, version, instant) : undefined
  const body =
    content === undefined
      ? undefined
      : parts === undefined
        ? compressBody(text as string)
        : joinParts(interleave(parts, content.template.values(change.id, version, instant)))
  const row: VersionRow = {
    rid,
    type: types.code(change.type) ?? 0,
    id: change.id,
    ver: version,
    upd: stamp,
    flags: versionFlags(change, body?.encoding ?? 0),
    body: body?.bytes ?? null,
  }
  return new StoredVersion(change.type, row, text)
}

/** A deletion as version 0, for a resource that never existed: deleting it is answered like deleting a deleted one. */
export const absentVersion = (type: string, id: string): StoredVersion =>
  new StoredVersion(type, { rid: 0, type: 0, id, ver: 0, upd: 0, flags: DELETED, body: null })
