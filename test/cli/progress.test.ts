/** Installing packages shows one line on a terminal that is written over, and nothing elsewhere. */
import { test } from 'uvu'
import * as assert from 'uvu/assert'
import { CLEAR_LINE, showProgress } from '../../cli/progress.ts'
import { createKernel, definePlugin, systemClock } from '../../kernel/index.ts'
import { createProgress } from '../../plugins/packages/progress.ts'
import { InstallProgress } from '../../plugins/packages/service.ts'

const withBoard = async () => {
  const board = createProgress()
  const installer = definePlugin({
    name: 'installer',
    provides: [InstallProgress],
    setup: ({ provide }) => provide(InstallProgress, board),
  })
  return { board, kernel: await createKernel({ plugins: [installer], log: { level: 'silent' } }) }
}

test('downloads and definitions are counted on one line, not faster than an eye follows', async () => {
  const { board, kernel } = await withBoard()
  let now = 0
  const written: string[] = []
  const stdout = { write: (text: string) => void written.push(text), isTTY: true }
  const hide = showProgress(kernel, stdout, { ...systemClock, monotonic: () => now })
  board.report({ step: 'download', package: 'a@1.0.0', from: 'x', received: 1_500_000, total: 3_000_000 })
  board.report({ step: 'download', package: 'a@1.0.0', from: 'x', received: 1_600_000, total: 3_000_000 })
  now = 100
  board.report({ step: 'read', package: '/somewhere/deep/guide', files: 12 })
  board.report({ step: 'installed', package: 'a@1.0.0', from: 'x', definitions: 12, duration: 1 })
  hide()
  board.report({ step: 'read', package: 'late', files: 1 })
  assert.equal(written, [
    `${CLEAR_LINE}Downloading a@1.0.0: 1.5 of 3.0 MB`,
    `${CLEAR_LINE}Installing guide: 12 definitions`,
    CLEAR_LINE,
    CLEAR_LINE,
  ])
})

test('a server in which nothing installs shows nothing', async () => {
  const kernel = await createKernel({ plugins: [], log: { level: 'silent' } })
  const written: string[] = []
  showProgress(kernel, { write: (text: string) => void written.push(text) })()
  assert.equal(written, [])
})

test.run()
