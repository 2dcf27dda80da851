/** Detects whether /proc hides processes of other users: the mount option hidepid of proc(5), ProtectProc= of systemd. */

/** `mounts`: the text of /proc/self/mountinfo. Of several mounts at /proc the last one counts. */
export const hidesProcesses = (mounts: string): boolean => {
  const line = mounts.split('\n').findLast((one) => one.split(' ')[4] === '/proc')
  const [, value = 'off'] = /[ ,]hidepid=(\w+)/.exec(line ?? '') ?? []
  return value !== 'off' && value !== '0'
}
