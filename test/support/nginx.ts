/** The nginx of this machine with examples/deploy/nginx.conf, on ports and addresses of a test. */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { DeployFront, DeployServers } from './deploy-front.ts'
import { freePort } from './free-port.ts'
import { until } from './until.ts'

const START_MS = 10_000
const CONF = readFileSync(new URL('../../examples/deploy/nginx.conf', import.meta.url), 'utf8')

/** NGINX_PATH, or where packages put it; undefined where there is none. */
export const nginxPath: string | undefined = [process.env.NGINX_PATH, '/usr/sbin/nginx', '/usr/local/sbin/nginx'].find(
  (path) => path !== undefined && existsSync(path),
)

/** Replaces a text of the example; throws where the example does not have it. */
const replaced = (text: string, from: string, to: string): string => {
  if (!text.includes(from)) throw new Error(`examples/deploy/nginx.conf has no ${from}`)
  return text.replaceAll(from, to)
}

/** The example, with nothing changed but addresses and TLS. */
const configuration = ({ writers, reader }: DeployServers, outer: string, inner: string): string => {
  let text = CONF
  for (const [example, url] of [
    ['10.0.0.11:8080', writers[0]],
    ['10.0.0.12:8080', writers[1]],
    ['10.0.0.13:8080', reader],
  ] as const) {
    const { host } = new URL(url)
    text = replaced(text, example, host)
    const escaped = (one: string): string => one.replaceAll('.', '\\.')
    if (url !== reader) text = replaced(text, escaped(example.slice(0, -5)) + example.slice(-5), escaped(host))
  }
  text = replaced(text, 'listen 443 ssl;', `listen ${outer};`)
  text = replaced(text, 'listen 10.0.0.10:8079;', `listen ${inner};`)
  text = replaced(text, 'allow 10.0.0.0/24;', 'allow 127.0.0.0/8;')
  return text.replaceAll(/^ *ssl_certificate.*$/gm, '')
}

/** Moves all files that nginx writes into the folder of the test. */
const around = (text: string, folder: string): string => `
daemon off;
worker_processes 2;
pid ${folder}/pid;
error_log ${folder}/error.log warn;
events { worker_connections 256; }
http {
  access_log off;
${['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'].map((name) => `  ${name}_temp_path ${folder}/${name};`).join('\n')}
${text}
}
`

export const startNginx = async (path: string): Promise<DeployFront> => {
  const [outer, inner] = [`127.0.0.1:${await freePort()}`, `127.0.0.1:${await freePort()}`]
  const folder = mkdtempSync(join(tmpdir(), 'refhir-nginx-'))
  let child: ChildProcess | undefined
  return {
    address: `http://${outer}`,
    primaryUrl: `http://${inner}`,
    async begin(servers) {
      const file = join(folder, 'nginx.conf')
      writeFileSync(file, around(configuration(servers, outer, inner), folder))
      const own = spawn(path, ['-p', folder, '-c', file, '-e', join(folder, 'error.log')], { stdio: 'inherit' })
      child = own
      await until(
        async () => {
          if (own.exitCode !== null) throw new Error(readFileSync(join(folder, 'error.log'), 'utf8'))
          return fetch(`http://${outer}/livez`).then(
            () => true,
            () => false,
          )
        },
        START_MS,
        'nginx',
      )
    },
    async stop() {
      if (child !== undefined && child.exitCode === null) {
        const gone = once(child, 'exit')
        child.kill('SIGTERM')
        await gone
      }
      rmSync(folder, { recursive: true, force: true })
    },
  }
}
