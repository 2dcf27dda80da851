/** A file of an export needs the right to its type when it is read, and as much of it as when it was made. */
import { extentOf, grantsOf, type Restriction } from '../../kernel/index.ts'
import { ExportNarrower } from './errors.ts'

const coversAll = (restrictions: readonly Restriction[], type: string): boolean =>
  restrictions.every((one) => extentOf(one, type, 'r') === 'all' && extentOf(one, type, 's') === 'all')

const grants = (restrictions: readonly Restriction[], type: string): string =>
  JSON.stringify(restrictions.map((one) => grantsOf(one, type)))

/** `then`: the restrictions of the kick-off. Throws 403. */
export const checkFileRights = (now: readonly Restriction[], then: readonly Restriction[], type: string): void => {
  // Who may have all may have any part, and the same grants show the same.
  if (coversAll(now, type) || (!coversAll(then, type) && grants(now, type) === grants(then, type))) return
  throw ExportNarrower(type)
}
