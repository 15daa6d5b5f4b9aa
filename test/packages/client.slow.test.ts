import { execFile, spawn, spawnSync } from 'node:child_process'
import { cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Browser } from 'playwright-core'
import { build, type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { launchChromium, needsBrowser } from '#test/blackbox/chromium'
import { climate, label, sensor, temperature } from '#test/blackbox/sensor'
import { basicHeader, newName, report, root, SignedInUser, startWithIdentity } from '#test/blackbox/signed-in-user'
import type { StartedServer } from '#test/blackbox/started-server'
import { until } from '#test/blackbox/until'
import { EmptyProject, nodeOf, outsideEnvironment, type Packed } from '#test/packages/packed'

/** The client library from its packed file, in otherwise empty projects. */

let project: EmptyProject
let packed: Packed
let server: StartedServer
let admin: SignedInUser

beforeAll(async () => {
  const launcher = join(projectRoot, 'src/launch.cjs')
  const built = spawnSync(process.execPath, [launcher, 'build', '--client'], { encoding: 'utf8' })
  expect([built.status, built.stderr]).toEqual([0, expect.any(String)])
  project = new EmptyProject()
  packed = await project.pack(join(projectRoot, 'dist/device-data-client'))
  await project.install('--offline', packed.file)
  server = await startWithIdentity()
  admin = await SignedInUser.signIn(server)
})
afterAll(async () => {
  await server?.finish()
  project?.remove()
})

/** Copies a package of this repository into the project. */
function copyPackage(name: string): void {
  cpSync(join(projectRoot, 'node_modules', name), join(project.folder, 'node_modules', name), { recursive: true })
}

const makeDevice = () => admin.makeDevice(newName('PACKED').toUpperCase())

test('the packed client is small, needs no other package, and contains nothing of the server', () => {
  expect(packed.bytes).toBeLessThan(300_000)
  console.info(`the packed client is ${(packed.bytes / 1000).toFixed(0)} kB`)
  expect(
    packed.paths.filter((path) => !/^(types\/[\w-]+\.d\.ts|[\w-]+\.js|package\.json|README\.md|LICENSE)$/.test(path)),
  ).toEqual([])
  const read = (name: string) => JSON.parse(readFileSync(join(project.folder, name), 'utf8'))
  expect(Object.keys(read('package-lock.json').packages).filter((path) => path !== '')).toEqual([
    'node_modules/device-data-client',
  ])
  const description = read('node_modules/device-data-client/package.json')
  expect([description.version, description.dependencies]).toEqual([
    JSON.parse(readFileSync(join(projectRoot, 'package.json'), 'utf8')).version,
    undefined,
  ])
})

test.each(['nodenext', 'bundler'])(
  'has types of its own, as a compiler with module resolution %s finds',
  async (resolution) => {
    const program = project.write(
      'typed.ts',
      `import { connect, type Answer, type DeviceView } from 'device-data-client'
import { useDevice, useDevices, useProperty } from 'device-data-client/react'
const client = connect({ url: 'http://127.0.0.1:1' })
const state = client.state({ types: ['OBJECT_UPDATED'] })
const view: DeviceView | undefined = useDevice(state, 'A')
const status: 'online' | 'offline' | 'idle' | undefined = useDevices(state).get('A')?.status
const value: string | number | boolean | readonly (string | number | boolean)[] | undefined =
  useProperty(state, 'A', 'light', 1)?.value
const alarm = await client.call('GET /alarms/:alarmId', { parameters: { alarmId: 'a' } })
const seconds: number = alarm.forSeconds
const created: Answer<'POST /devices'> = await client.call('POST /devices', { body: { deviceIdentifier: 'A' } })
const secret: string = created.secret
await client.call('POST /alarms', {
  body: { name: 'a', severity: 'warning', serviceIdentifier: 's', condition: { '>': [{ var: 'x' }, 1] } },
})
state.events((event) => event.type === 'META_SET' && event.deviceIdentifier)
// @ts-expect-error no such route
await client.call('GET /nothing')
// @ts-expect-error the parameters are missing
await client.call('GET /devices/:deviceIdentifier')
// @ts-expect-error a parameter is missing
await client.call('GET /devices/:deviceIdentifier', { parameters: {} })
// @ts-expect-error the body is missing
await client.call('POST /devices')
// @ts-expect-error no such field
await client.call('POST /devices', { body: { device: 'A' } })
// @ts-expect-error the route is not a list
client.pages('GET /iam/me')
// @ts-expect-error no such type of event
client.state({ types: ['NOTHING'] })
export { view, status, value, seconds, secret }
`,
    )
    const flags = ['--noEmit', '--strict', '--target', 'es2023', '--lib', 'es2023,dom', '--types', '']
    const mode = ['--module', resolution === 'bundler' ? 'esnext' : resolution, '--moduleResolution', resolution]
    const compiler = join(projectRoot, 'node_modules/typescript/bin/tsc')
    const compiled = promisify(execFile)(process.execPath, [compiler, ...flags, ...mode, program], {
      cwd: project.folder,
    })
    await expect(compiled).resolves.toMatchObject({ stdout: '' })
  },
)

describe('in Node', () => {
  let program: string

  beforeAll(() => {
    const guide = readFileSync(join(projectRoot, 'docs/client.md'), 'utf8')
    const [, example = ''] = /```js\n([\s\S]*?)```/.exec(guide) ?? []
    expect(example.split('\n').filter((line) => line !== '' && !/^[})\s]+$/.test(line)).length).toBeLessThanOrEqual(10)
    program = project.write('example.js', example)
  })

  const start = (node: string) =>
    spawn(node, [program, `http://127.0.0.1:${server.port}`, root.name, root.password], {
      cwd: project.folder,
      env: outsideEnvironment(),
    })

  test('20 without the package ws: an error names that package in one sentence', async (context) => {
    const node = await nodeOf(20, project)
    if ('reason' in node) return context.skip(node.reason)
    const child = start(node.path)
    let errors = ''
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors += text
    })
    const code = await new Promise((resolve) => child.once('close', resolve))
    expect([code, errors]).toEqual([
      1,
      expect.stringContaining('TypeError: Node 20 has no WebSocket: run npm install ws, or pass one to connect()'),
    ])
  })

  test.for([22, 24, 20])('%i: the example of the guide prints what happens', async (major, context) => {
    const node = await nodeOf(major, project)
    if ('reason' in node) return context.skip(node.reason)
    if (major === 20) copyPackage('ws')
    const device = await makeDevice()
    const child = start(node.path)
    let output = ''
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        output += text
      })
    }
    const prints = (line: string) =>
      until(
        () => output.includes(line),
        () => `"${line}" in: ${output}`,
      )
    try {
      await prints(`${device.name} offline`)
      await report(server, device, 21)
      await prints(`${device.name} online climate: `)
      await admin.delete(`/devices/${device.name}`)
      await prints(`${device.name} gone`)
    } finally {
      child.kill()
    }
  })
})

describe('in pages', () => {
  let browser: Browser
  let pages: PreviewServer | undefined
  let origin = ''

  async function openBrowser(): Promise<void> {
    for (const name of ['react', 'react-dom', 'scheduler']) copyPackage(name)
    const installed = join(project.folder, 'node_modules/device-data-client')
    cpSync(join(installed, 'script.js'), join(project.folder, 'public/script.js'))
    project.write('public/plain.html', '<!doctype html><title>plain</title><script src="script.js"></script>')
    project.write('index.html', '<!doctype html><div id="root"></div><script type="module" src="main.js"></script>')
    project.write('main.js', reactPage)
    const silent = { root: project.folder, configFile: false, logLevel: 'error' } as const
    await build(silent)
    pages = await preview({
      ...silent,
      preview: {
        host: '127.0.0.1',
        port: 0,
        proxy: { '/api': { target: `http://127.0.0.1:${server.port}`, ws: true } },
      },
    })
    origin = pages.resolvedUrls?.local[0] ?? ''
    browser = await launchChromium()
  }
  needsBrowser(openBrowser, async () => {
    await browser?.close()
    await pages?.close()
  })

  const openPage = async (path: string) => {
    const page = await browser.newPage()
    await page.goto(`${origin}${path}`)
    return page
  }

  test('that Vite built, the React hooks render only what changed', async () => {
    const device = await makeDevice()
    await report(server, device, 21)
    const page = await openPage(`?device=${device.name.toLowerCase()}`)
    const texts = () => page.locator('#root').innerText()
    const shows = (pattern: RegExp) => expect.poll(texts).toMatch(pattern)
    await shows(/devices: \d+, .*property: 21 \(/)
    const rendersOf = async (name: string) => Number(new RegExp(`${name}: .*?\\((\\d+)\\)`).exec(await texts())?.[1])
    const before = await rendersOf('property')
    // Another property of the same device.
    const updates = [{ serviceIdentifier: climate, propId: label, value: 'hall' }]
    const body = { deviceIdentifier: device.name, services: sensor, updates }
    const answer = await server.ask('/link', { method: 'POST', body, headers: basicHeader(device) })
    expect(answer.status).toBe(204)
    await shows(/device: online hall \(/)
    expect(await rendersOf('property')).toBe(before)
    await report(server, device, 22)
    await shows(/property: 22 \(/)
    expect(await rendersOf('property')).toBe(before + 1)
    await admin.delete(`/devices/${device.name}`)
    await shows(/device: none .*property: none/)
    await page.close()
  })

  test('a script tag is enough', async () => {
    const device = await makeDevice()
    const page = await openPage('plain.html')
    const status = await page.evaluate(
      async ([name = '', password = '', deviceIdentifier = '']) => {
        const { deviceData } = globalThis as unknown as { deviceData: typeof import('#client/client') }
        const state = deviceData.connect({ credentials: { scheme: 'basic', name, password } }).state()
        await state.ready
        return state.devices.get(deviceIdentifier)?.status
      },
      [root.name, root.password, device.name],
    )
    expect(status).toBe('offline')
    await page.close()
  })
})

/** Each part shows how often it was rendered. */
const reactPage = `
import { connect } from 'device-data-client'
import { useDevice, useDevices, useProperty } from 'device-data-client/react'
import { createElement, useRef } from 'react'
import { createRoot } from 'react-dom/client'

const state = connect({ credentials: ${JSON.stringify({ scheme: 'basic', ...root })} }).state()
const device = new URLSearchParams(location.search).get('device')

function useLine(name, text) {
  const times = useRef(0)
  return name + ': ' + text + ' (' + ++times.current + '), '
}
function Devices() {
  return 'devices: ' + useDevices(state).size + ', '
}
function Device() {
  const view = useDevice(state, device)
  const label = view?.services.get('${climate}')?.valueAt(${label})
  return useLine('device', view ? view.status + ' ' + label : 'none')
}
function Property() {
  return useLine('property', useProperty(state, device, '${climate}', ${temperature})?.value ?? 'none')
}
createRoot(document.getElementById('root')).render([Devices, Device, Property].map((part, key) => createElement(part, { key })))
`
