import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { projectRoot } from '#bench/project-root'
import { type OverloadProofOptions, proveOverload } from '#bench/proof/overload/overload'

/** A small run of `npm run proof -- overload`, without judging latency. */
const small: Omit<OverloadProofOptions, 'names'> = {
  seed: Date.now() % 1_000_000_000,
  // Ten times this on five connections is more than the window of a connection in each second.
  rated: 1_200,
  scale: 0.02,
  seconds: 2,
  baselineSeconds: 1,
  observationSeconds: 1,
  print: () => {},
}

test('overload is refused, and acknowledged changes are stored', {
  timeout: 240_000,
}, async () => {
  const names = ['reconnects', 'sockets', 'bodies', 'heads']
  const { cases } = await proveOverload({ ...small, names })
  for (const name of names) {
    expect({ name, problems: cases[name]?.problems }).toEqual({ name, problems: [] })
    expect(cases[name]?.acknowledged).toBeGreaterThan(0)
  }
})

/** Loaded into a server: after 100 commits it acknowledges commits without storing them. */
const losing = `data:text/javascript,${encodeURIComponent(`
import { createRequire } from 'node:module'
const { Level } = createRequire(${JSON.stringify(`${projectRoot}/package.json`)})('level')
const { batch } = Level.prototype
let commits = 0
Level.prototype.batch = function () {
  const created = batch.call(this)
  if (++commits > 100) created.write = () => created.close()
  return created
}
`)}`

test('a server that acknowledges without storing is found', { timeout: 240_000 }, async () => {
  const { cases, problems } = await proveOverload({ ...small, names: ['heads'], planted: ['--import', losing] })
  const found = cases.heads?.problems.join('\n')
  expect(found).toMatch(/was acknowledged|lost|stream/)
  expect(problems.length).toBeGreaterThan(0)
})

/** Loaded into a server: it publishes SCHEMA_ADD twice. */
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

test('a server that publishes an event twice is found', { timeout: 240_000 }, async () => {
  const { cases } = await proveOverload({ ...small, names: ['sockets'], planted: ['--import', doubling] })
  expect(cases.sockets?.problems).toContain("300 ended by 'received too much'")
})
