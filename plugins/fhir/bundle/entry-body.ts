/** The resource of an entry as a body: what the bytes of a request are read to. */
import type { ReadResource } from '../../model/json/parse.ts'
import { membersAt } from '../../model/json/ranges.ts'

/** `text` begins with the brace of the resource; `resource` is its parsed form. */
export const toBody = (text: string, resource: Record<string, unknown> | undefined): ReadResource => ({
  text,
  resource: resource ?? {},
  members: membersAt(text, 0),
})
