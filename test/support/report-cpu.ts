/** Loaded before a test file that has a process of its own: tells the CPU time when it ends, as test-process.ts does. */
import { forgetKeptMemory } from './kept-memory.ts'
import { treeCpu } from './tree-cpu.ts'

forgetKeptMemory()

process.on('exit', () => process.stdout.write(`CPU: ${treeCpu()?.toFixed(2)}\n`))
