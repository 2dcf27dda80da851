/** The resources of a type as they were at a time, as far as the caller may read and search them. */
import type { FactDetails, Interaction, Right, Ruling } from '../../../kernel/index.ts'
import { type TypeCatalog, typeOf } from '../../model/service.ts'
import { extent, type ReadAsOf, typeForbidden } from '../../search/service.ts'
import type { StoredVersion } from '../../storage/service.ts'
import type { AuditDetails } from '../audit-details.ts'
import { authorize, emitRefused } from '../dispatch.ts'
import { PackedVersion } from './packed-version.ts'
import type { Opened, Seat } from './seat.ts'
import type { AsOfOptions, AsOfResource, SessionReads } from './session.ts'

export interface AsOfParts {
  readonly catalog: Pick<TypeCatalog, 'types'>
  readonly audit: Pick<AuditDetails, 'patients'>
  readonly readAsOf: ReadAsOf
}

class AsOfVersion extends PackedVersion implements AsOfResource {
  readonly key: number

  constructor(version: StoredVersion) {
    super(version)
    this.key = version.rid
  }
}

const RIGHTS: readonly Right[] = ['r', 's']

/** Both rights, but for those that the caller has on everything. Throws 403 where it has one on nothing. */
const rightsToJudge = (ruling: Ruling, type: string): readonly Right[] =>
  RIGHTS.filter((right) => {
    const own = extent(ruling, type, right)
    if (own === 'none') throw typeForbidden(ruling, type, right)
    return own === 'some'
  })

type Judge = (version: StoredVersion) => Promise<boolean> | boolean

/** Judges versions by the ruling. */
const judgeByRuling = ({ view, request }: Opened, ruling: Ruling, rights: readonly Right[]): Judge => {
  const [first, second] = rights.map(
    (right): Judge =>
      (version) =>
        view.access.allows(request, ruling, right, version),
  )
  if (first === undefined || second === undefined) return first ?? (() => true)
  return (version) => {
    const allowed = first(version)
    if (allowed instanceof Promise) return allowed.then((isAllowed) => isAllowed && second(version))
    return allowed && second(version)
  }
}

/** Judges versions by whose data they are; a deletion by what was deleted. */
const judgeByPatients = (
  { view, request }: Opened,
  audit: AsOfParts['audit'],
  type: string,
  patients: NonNullable<AsOfOptions['patients']>,
): Judge => {
  const isOne = (reference: string): boolean => patients === 'any' || patients.has(reference.slice('Patient/'.length))
  // A Patient that only links to another one is not that one's data.
  if (type === 'Patient') return ({ id }) => isOne(`Patient/${id}`)
  const concerns = (version: StoredVersion): boolean => audit.patients([version], request.ownUrl).some(isOne)
  return (version) =>
    version.deleted
      ? view.reads
          .vread(type, version.id, version.version - 1)
          .then((before) => before !== undefined && !before.deleted && concerns(before))
      : concerns(version)
}

/** `parts` returns the parts once the server has started. */
export const createAsOf = (parts: () => AsOfParts, seat: Seat): SessionReads['asOf'] =>
  async function* (type, options) {
    const { catalog, audit, readAsOf } = parts()
    const { name } = typeOf({ catalog }, type)
    const opened = seat.open()
    const { view, request } = opened
    const { upTo, since, after = 0, deleted = false, patients, pause, resume } = options
    const interaction: Interaction = { kind: 'search-type', type: name }
    let count = 0
    try {
      const ruling = await authorize(view.run, request, interaction)
      const rights = rightsToJudge(ruling, name)
      const judges = [
        ...(patients === undefined ? [] : [judgeByPatients(opened, audit, name, patients)]),
        ...(rights.length === 0 ? [] : [judgeByRuling(opened, ruling, rights)]),
      ]
      const { signal } = request
      let asked = performance.now()
      for await (const versions of readAsOf({ type: name, upTo, since, after, deleted, signal })) {
        resume?.(performance.now() - asked)
        const shown: AsOfResource[] = []
        for (const version of versions) {
          let isShown = true
          for (const judge of judges) {
            const answer = judge(version)
            isShown = answer instanceof Promise ? await answer : answer
            if (!isShown) break
          }
          if (isShown) shown.push(new AsOfVersion(version))
          const rest = judges.length === 0 ? undefined : pause?.()
          if (rest !== undefined) await rest
        }
        count += shown.length
        yield shown
        asked = performance.now()
      }
    } catch (error) {
      if (seat.streams !== 'not') await emitRefused(view.run, request, interaction, error)
      throw error
    }
    if (seat.streams === 'not') return
    const details: FactDetails = { count }
    await view.run.onAudit?.({ request, interaction, status: 200, details })
  }
