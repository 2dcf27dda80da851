/** Whether this process may see no process of another user in /proc: the mount option hidepid of proc(5), systemd's ProtectProc=. */

/** `mounts`: the text of /proc/self/mountinfo. Of several mounts at /proc the last one counts. */
export const hidesProcesses = (mounts: string): boolean => {
  const line = mounts.split('\n').findLast((one) => one.split(' ')[4] === '/proc')
  const [, value = 'off'] = /[ ,]hidepid=(\w+)/.exec(line ?? '') ?? []
  return value !== 'off' && value !== '0'
}
