import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { overloadCases } from '#bench/proof/overload/cases'
import { type OverloadProofOptions, proveOverload } from '#bench/proof/overload/overload'

/** Against the built server, as `npm run proof -- overload` is, and small. How long anything took is not judged here. */
const small: Omit<OverloadProofOptions, 'names'> = {
  seed: Date.now() % 1_000_000_000,
  // Ten times as much on five links is more than a link's window in each second.
  rated: 1_200,
  scale: 0.02,
  seconds: 2,
  baselineSeconds: 1,
  observationSeconds: 1,
  print: () => {},
}

test('who comes with too much is told so, and what others were acknowledged is stored', {
  timeout: 240_000,
}, async () => {
  const names = ['reconnects', 'sockets', 'bodies', 'heads']
  const { cases } = await proveOverload({ ...small, names })
  for (const name of names) {
    expect({ name, problems: cases[name]?.problems }).toEqual({ name, problems: [] })
    expect(cases[name]?.acknowledged).toBeGreaterThan(0)
  }
})

/** Loaded into a server: after a while it says that commits are stored, and stores none. */
const losing = `data:text/javascript,${encodeURIComponent(`
import { createRequire } from 'node:module'
const { Level } = createRequire(${JSON.stringify(`${projectRoot}/package.json`)})('level')
const { batch } = Level.prototype
let commits = 0
Level.prototype.batch = function () {
  const made = batch.call(this)
  if (++commits > 100) made.write = () => made.close()
  return made
}
`)}`

test('a server that acknowledges what it does not store is found', { timeout: 240_000 }, async () => {
  const { cases, problems } = await proveOverload({ ...small, names: ['heads'], planted: ['--import', losing] })
  const found = cases.heads?.problems.join('\n')
  expect(found).toMatch(/was acknowledged|lost|stream/)
  expect(problems.length).toBeGreaterThan(0)
})

/** Loaded into a server: it tells of each new description of a service twice. */
const doubling = `data:text/javascript,${encodeURIComponent(`
import uws from ${JSON.stringify(pathToFileURL(`${projectRoot}/node_modules/uWebSockets.js/dist/uws.mjs`).href)}
const { App } = uws
uws.App = (...options) => {
  const app = App(...options)
  const { publish } = app
  app.publish = (topic, message, ...rest) => {
    if (Buffer.from(message).includes('SCHEMA_ADD')) publish.call(app, topic, message, ...rest)
    return publish.call(app, topic, message, ...rest)
  }
  return app
}
`)}`

test('a server that tells a crowd twice is found', { timeout: 240_000 }, async () => {
  const { cases } = await proveOverload({ ...small, names: ['sockets'], planted: ['--import', doubling] })
  expect(cases.sockets?.problems).toContain("300 ended by 'received too much'")
})

test('each kind of overload says what the server may hold', () => {
  for (const { capMib } of Object.values(overloadCases)) expect(capMib).toBeGreaterThan(0)
})
