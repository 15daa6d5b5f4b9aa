import { posix, relative } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests of parts, which leave nothing behind in their process: its modules are loaded once for all of them. */
const ofParts = [
  'access',
  'actors',
  'api',
  'attacks',
  'client',
  'cluster',
  'dashboard',
  'events',
  'firmware',
  'history',
  'http',
  'link',
  'model',
  'mqtt',
  'notifications',
  'routes',
  'rules',
  'runtime',
  'store',
  'workers',
].map((room) => `test/${room}/**/*.test.ts`)

/** What takes longest, in this order, so that none of it is begun when the others are done. */
const longest = [
  'test/simulation/seeds-1.test.ts',
  'test/simulation/seeds-2.test.ts',
  'test/blackbox/closed-connections.slow.test.ts',
  'test/proof/overload.slow.test.ts',
  'test/documents/documents.slow.test.ts',
  'test/dashboard/fleet.slow.test.ts',
  'test/dashboard/sign-in.slow.test.ts',
  'test/dashboard/firmware.slow.test.ts',
  'test/dashboard/administration.slow.test.ts',
]

/** Kills, failures, browsers, the tools that measure: `npm run test:all`. */
const slow = ['test/**/*.slow.test.ts']

/** Those with a process of their own first, and of these the longest: in the end there is something short for everybody. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = await super.sort(files)
    return sorted.sort((one, other) => rankOf(one) - rankOf(other))
  }
}

function rankOf({ moduleId, project }: TestSpecification): number {
  if (!project.config.isolate) return longest.length + 1
  const place = longest.indexOf(relative(import.meta.dirname, moduleId).replaceAll('\\', posix.sep))
  return place < 0 ? longest.length : place
}

export default defineConfig({
  ssr: { resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] } },
  resolve: { conditions: ['source', 'node', 'import', 'module', 'default'] },
  test: {
    // For what never ends: a machine that has much else to do may need many times what a quiet one does.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As long as `until` waits: how fast something is belongs to the benches.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // One more than the processors that this is tried on: in many of them somebody waits, for what takes its time.
    maxWorkers: 3,
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        extends: true,
        test: { name: 'parts', include: ofParts, exclude: [...configDefaults.exclude, ...slow], isolate: false },
      },
      {
        extends: true,
        test: {
          name: 'whole',
          include: ['test/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...ofParts, ...slow],
        },
      },
      { extends: true, test: { name: 'slow', include: slow } },
    ],
  },
})
