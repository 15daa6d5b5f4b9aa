import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:https'
import { tmpdir } from 'node:os'
import { delimiter, join } from 'node:path'
import { projectRoot } from '#bench/project-root'
import { freePort } from '#bench/server-process'
import { until } from '#test/blackbox/until'

/** The domain in the shipped configuration. */
export const domain = 'devices.example.com'
const site = join(projectRoot, 'ops/nginx/device-data-backend.conf')

/** In Debian nginx is in a folder that PATH may not have. */
const environment = { ...process.env, PATH: `${process.env.PATH}${delimiter}/usr/sbin` }

/** The reason to skip the tests; undefined if they can run. */
export const noNginx = ['nginx', 'openssl']
  .filter((name) => spawnSync(name, [name === 'nginx' ? '-v' : 'version'], { env: environment }).error)
  .map((name) => `Skipped, nothing was tried behind a proxy: ${name} is not installed (apt-get install ${name})`)[0]

export interface ProxyRequest {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The local address of the client, in 127/8. */
  readonly from?: string
  /** The Host header; by default the domain and port. */
  readonly host?: string
}

export interface ProxyAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly text: string
}

/** nginx with the shipped configuration, except for ports and certificate. */
export class NginxProxy {
  readonly port: number
  readonly #folder: string
  readonly #child: ChildProcess
  #errors = ''

  private constructor(folder: string, port: number, child: ChildProcess) {
    this.#folder = folder
    this.port = port
    this.#child = child
    child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors += text
    })
  }

  static async start(serverPort: number): Promise<NginxProxy> {
    const folder = mkdtempSync(join(tmpdir(), 'nginx-'))
    const [tlsPort, plainPort] = [await freePort(), await freePort()]
    const certificates = join(folder, 'certificates')
    mkdirSync(certificates)
    makeCertificate(certificates)
    writeFileSync(
      join(folder, 'site.conf'),
      readFileSync(site, 'utf8')
        .replaceAll('127.0.0.1:8080', `127.0.0.1:${serverPort}`)
        .replaceAll(/listen 443/g, `listen 127.0.0.1:${tlsPort}`)
        .replaceAll(/listen 80/g, `listen 127.0.0.1:${plainPort}`)
        .replaceAll('/etc/nginx/device-data', certificates),
    )
    writeFileSync(join(folder, 'nginx.conf'), mainConfiguration(folder))
    const child = spawn('nginx', ['-p', folder, '-c', join(folder, 'nginx.conf'), '-e', 'stderr'], {
      env: environment,
      stdio: ['ignore', 'ignore', 'pipe'],
    })
    const proxy = new NginxProxy(folder, tlsPort, child)
    await until(
      async () => {
        if (child.exitCode !== null) throw new Error(`nginx ended at its start\n${proxy.#errors}`)
        return (await proxy.ask('/api/v1/health').catch(() => undefined))?.status === 200
      },
      () => `nginx to serve\n${proxy.#errors}`,
    )
    return proxy
  }

  get origin(): string {
    return `https://${domain}:${this.port}`
  }

  ask(
    path: string,
    { method = 'GET', headers = {}, body, from = '127.0.0.1', host }: ProxyRequest = {},
  ): Promise<ProxyAnswer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          host: '127.0.0.1',
          port: this.port,
          servername: domain,
          rejectUnauthorized: false,
          localAddress: from,
          agent: false,
          method,
          path,
          headers: {
            host: host ?? `${domain}:${this.port}`,
            ...(body !== undefined && {
              'content-type': 'application/json',
              'content-length': Buffer.byteLength(body),
            }),
            ...headers,
          },
        },
        (response) => {
          let text = ''
          response.setEncoding('utf8').on('data', (piece: string) => {
            text += piece
          })
          response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }))
          response.on('error', reject)
        },
      )
      sent.on('error', reject)
      sent.end(body)
    })
  }

  async stop(): Promise<void> {
    const ended = new Promise((resolve) => this.#child.once('close', resolve))
    if (this.#child.exitCode === null) {
      this.#child.kill('SIGTERM')
      await ended
    }
    rmSync(this.#folder, { recursive: true, force: true })
  }
}

/** The nginx.conf of Debian, without log files and user. */
function mainConfiguration(folder: string): string {
  const kinds = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  return [
    'daemon off;',
    'worker_processes 1;',
    `pid ${folder}/nginx.pid;`,
    'events { worker_connections 256; }',
    'http {',
    '  access_log off;',
    ...kinds.map((kind) => `  ${kind}_temp_path ${folder}/${kind};`),
    `  include ${folder}/site.conf;`,
    '}',
    '',
  ].join('\n')
}

function makeCertificate(folder: string): void {
  const files = ['-keyout', join(folder, 'privkey.pem'), '-out', join(folder, 'fullchain.pem')]
  const kind = [
    '-newkey',
    'ec',
    '-pkeyopt',
    'ec_paramgen_curve:prime256v1',
    '-nodes',
    '-days',
    '2',
    '-subj',
    `/CN=${domain}`,
  ]
  execFileSync('openssl', ['req', '-x509', ...kind, ...files], { stdio: 'pipe' })
}
