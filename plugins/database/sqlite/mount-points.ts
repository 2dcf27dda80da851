/** The mount points in the text of /proc/self/mountinfo. See proc_pid_mountinfo(5). */

const MOUNT_POINT = 4 // the fifth field

/** In a path a space, tab, newline or backslash is written as a backslash and three octal digits. */
const unescaped = (field: string): string =>
  field.replaceAll(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 8)))

export const mountPoints = (mountinfo: string): ReadonlySet<string> =>
  new Set(mountinfo.split('\n').map((line) => unescaped(line.split(' ')[MOUNT_POINT] ?? '')))
