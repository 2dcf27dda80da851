/** A Chromium for one test file, which reaches this computer only, keeps nothing, and tells what pages complain about. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import puppeteer, { type Browser, type Page } from 'puppeteer-core'
import { findChromium } from './chromium-installation.ts'

export interface Chromium {
  readonly browser: Browser
  /** A page with cookies of its own. */
  open(): Promise<WatchedPage>
  close(): Promise<void>
}

export interface WatchedPage {
  readonly page: Page
  /** Errors and warnings of the console, such as breaches of the Content-Security-Policy. */
  readonly complaints: readonly string[]
  close(): Promise<void>
}

const FLAGS = [
  '--headless',
  '--no-sandbox', // tests may run as root, whom Chromium refuses a sandbox
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost',
]

export const startChromium = async (): Promise<Chromium> => {
  const { executable, environment } = await findChromium()
  const profile = await mkdtemp(join(tmpdir(), 'refhir-chromium-'))
  const browser = await puppeteer.launch({
    executablePath: executable,
    args: FLAGS,
    userDataDir: profile,
    env: { ...process.env, ...environment },
  })
  return {
    browser,
    async open() {
      const context = await browser.createBrowserContext()
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => {
        if (message.type() === 'error' || message.type() === 'warn') complaints.push(message.text())
      })
      page.on('pageerror', (error) => complaints.push(String(error)))
      return { page, complaints, close: () => context.close() }
    },
    async close() {
      await browser.close()
      await rm(profile, { recursive: true, force: true, maxRetries: 5 })
    },
  }
}
