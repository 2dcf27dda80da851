/** date, dateTime, instant and time as R4 defines them. https://hl7.org/fhir/R4/datatypes.html#dateTime */
import { PartialDate, readPartialDate, readTime, VALID } from './partial-date.ts'

const date = new PartialDate()

/** YYYY, YYYY-MM or YYYY-MM-DD. */
export const isDate = (text: string): boolean => text.length <= 10 && readPartialDate(text, VALID, date)

/** YYYY-MM-DDThh:mm:ss(.s+)? with a zone. */
export const isInstant = (text: string): boolean => text.length >= 20 && readPartialDate(text, VALID, date)

/** A date, or an instant. */
export const isDateTime = (text: string): boolean => readPartialDate(text, VALID, date)

/** hh:mm:ss(.s+)?, no zone. */
export const isTime = (text: string): boolean => readTime(text, 0, VALID, date) === text.length
