/**
 * Definitions as they were at an earlier time: those that have not changed since. What others were then is not known here.
 * `date` of https://hl7.org/fhir/R4/valueset-operation-expand.html
 */
import { readDateRange } from '../model/service.ts'
import { changedAt } from './changed-at.ts'
import { type FindDefinition, NotExpandableHere } from './expansion-contract.ts'

/** Why a definition cannot be used as it was at `asOf`, in microseconds; undefined where it can. */
export const whyNotAsOf = (name: string, changed: string | undefined, asOf: number): string | undefined => {
  if (changed === undefined) return `${name} does not say when it was changed last`
  const from = readDateRange(changed)?.from ?? Number.POSITIVE_INFINITY
  return from < asOf ? undefined : `${name} was changed on ${changed}, and what it was before is not known`
}

const check = (name: string, changed: string | undefined, asOf: number): void => {
  const why = whyNotAsOf(name, changed, asOf)
  if (why !== undefined) throw new NotExpandableHere(why)
}

/** Finds the same, and throws NotExpandableHere for a definition that has changed since. */
export const findAsOf = (find: FindDefinition, asOf: number): FindDefinition => ({
  readName: find.readName,
  async valueSet(canonical) {
    const found = await find.valueSet(canonical)
    if (found !== undefined) check(`the value set ${canonical}`, changedAt(found), asOf)
    return found
  },
  async codeSystem(canonical) {
    const found = await find.codeSystem(canonical)
    if (found !== undefined) check(`the code system ${canonical}`, found.changed, asOf)
    return found
  },
  async source(canonical) {
    const found = await find.source(canonical)
    if (found !== undefined) check(`the code system ${canonical}`, found.changed, asOf)
    return found
  },
})
