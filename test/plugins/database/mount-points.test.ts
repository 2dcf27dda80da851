/** Which paths are mount points, as Linux lists them. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { mountPoints } from '../../../plugins/database/sqlite/mount-points.ts'

test('mount points are read from mountinfo, with octal escapes and optional fields', () => {
  const lines = [
    '22 27 0:21 / /proc rw,relatime - proc proc rw',
    '36 35 98:0 /refhir.sqlite /data/refhir.sqlite rw,noatime master:1 shared:7 - ext4 /dev/root rw,errors=continue',
    String.raw`37 35 98:0 /x /data/with\040space\134and\011tab.sqlite rw - ext4 /dev/root rw`,
    '38 35 98:0 /x /data/Änderung.sqlite rw - ext4 /dev/root rw',
    '',
  ]
  const found = mountPoints(lines.join('\n'))
  for (const path of ['/proc', '/data/refhir.sqlite', '/data/with space\\and\ttab.sqlite', '/data/Änderung.sqlite'])
    assert.ok(found.has(path), path)
  assert.not.ok(found.has('/data'))
  assert.not.ok(found.has('/refhir.sqlite'))
})

test.run()
