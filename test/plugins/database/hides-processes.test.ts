/** A process that is hidden is not taken for one that is gone. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { hidesProcesses } from '../../../plugins/database/lease/hides-processes.ts'

const ROOT = '22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw'
const mounted = (own: string, options: string): string =>
  `${ROOT}\n24 22 0:22 / /proc ${own} shared:5 - proc proc ${options}\n25 22 0:23 / /sys rw - sysfs sysfs rw`

test('/proc as it is usually mounted hides nothing', () => {
  for (const options of ['rw', 'rw,hidepid=off', 'rw,hidepid=0', 'rw,gid=4'])
    assert.is(hidesProcesses(mounted('rw,nosuid,nodev,noexec,relatime', options)), false, options)
  assert.is(hidesProcesses(ROOT), false)
})

test('with hidepid it does, in every spelling', () => {
  for (const options of ['rw,hidepid=invisible', 'rw,hidepid=2', 'rw,hidepid=1', 'rw,gid=4,hidepid=ptraceable'])
    assert.is(hidesProcesses(mounted('rw', options)), true, options)
})

test('of two mounts at /proc the last one counts', () => {
  const hidden = '99 22 0:50 / /proc rw - proc proc rw,hidepid=invisible'
  assert.is(hidesProcesses(`${mounted('rw', 'rw')}\n${hidden}`), true)
})

test.run()
