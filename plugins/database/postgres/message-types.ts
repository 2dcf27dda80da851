/** Types of the messages that PostgreSQL sends in the extended query protocol. */
export const BIND_COMPLETE = 0x32
export const PARSE_COMPLETE = 0x31
export const CLOSE_COMPLETE = 0x33
export const PARAMETER_DESCRIPTION = 0x74
export const ROW_DESCRIPTION = 0x54
export const NO_DATA = 0x6e
export const DATA_ROW = 0x44
export const COMMAND_COMPLETE = 0x43
export const EMPTY_QUERY = 0x49
export const ERROR = 0x45
export const READY = 0x5a

/** Messages that an exchange handles; notices, parameters and notifications stay with pg. */
export const EXCHANGED: ReadonlySet<number> = new Set([
  BIND_COMPLETE,
  PARSE_COMPLETE,
  CLOSE_COMPLETE,
  PARAMETER_DESCRIPTION,
  ROW_DESCRIPTION,
  NO_DATA,
  DATA_ROW,
  COMMAND_COMPLETE,
  EMPTY_QUERY,
  ERROR,
  READY,
])
