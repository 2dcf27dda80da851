/** Numbers of columns, and of what lies beside them: the texts of codes, identifiers by type, identifiers of references (and WIDE). */
export const DISPLAY_TEXT = 1
/** Of a column of MIME types: what they lie below. */
export const OF_TYPE = 2
export const IDENTIFIER = 3
/** Beside a reference column: canonicals as they are written, and absolute references to a `[base]/Type/id`. */
export const CANONICAL = 1
export const ABSOLUTE = 2
/** Codes of columns are this far apart. */
export const COLUMN_STEP = 4

/** Between the type of an identifier and its value, which are hashed together. */
export const TEXT_SEPARATOR = '\u0001'

/** Expression of the column that holds them: one for each type. */
export const UNLISTED = '%resource.references'
