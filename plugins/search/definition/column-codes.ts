/**
 * Offsets that are added to a column's code for extra rows: texts of codes (`:text`), identifiers with their type
 * (`:of-type`), identifiers of references. Offset 1 is also WIDE_OFFSET.
 */
export const DISPLAY_TEXT = 1
/** Rows for `:of-type`; in a column of MIME types, the more general types that `:below` finds. */
export const OF_TYPE = 2
export const IDENTIFIER = 3
/**
 * Extra rows of a reference column: canonicals with their exact text, and absolute references to a `[base]/Type/id`.
 */
export const CANONICAL = 1
export const ABSOLUTE = 2
/** Distance between the codes of two columns; the numbers between them are for the offsets. */
export const COLUMN_STEP = 4

/** Separates the type of an identifier from its value in the text that is hashed. */
export const TEXT_SEPARATOR = '\u0001'

/** Pseudo expression of the column, one for each type, that holds references which no search parameter covers. */
export const UNLISTED = '%resource.references'
