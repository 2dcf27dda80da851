/** The resource of an entry in the form that the body of a request has after parsing. */
import type { ParsedResource } from '../../model/service.ts'
import { membersAt } from '../../model/service.ts'

/** `text` begins with the brace of the resource; `resource` is its parsed form. */
export const toBody = (text: string, resource: Record<string, unknown> | undefined): ParsedResource => ({
  text,
  resource: resource ?? {},
  members: membersAt(text, 0),
})
