import { posix, relative } from 'node:path'
import { configDefaults, defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** Tests of single modules. They leave nothing behind in their process, so all files share its loaded modules. */
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
].map((folder) => `test/${folder}/**/*.test.ts`)

/** The longest files, which start first in this order, so that none of them still runs when the others are done. */
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

/** Tests with kills, failures, browsers and measuring tools: `npm run test:all`. */
const slow = ['test/**/*.slow.test.ts']

/** Runs files with a process of their own first, the longest of them first, so that all workers end at about the same time. */
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
    // Only ends tests that hang: on a busy machine a test may take many times as long as on an idle one.
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // As long as `until` waits. Tests do not measure speed; benchmarks do.
    expect: { poll: { timeout: 20_000 } },
    pool: 'forks',
    // One more than the two processors of the usual machine, because many tests wait.
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
