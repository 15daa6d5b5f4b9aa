import { parseArgs } from 'node:util'
import { type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'
import { provePower } from '#bench/proof/power/power'

const help = `Usage: npm run proof -- power [options]

Records the server's file operations with DURABILITY=disk (by strace), constructs disk states that a power loss at any moment
may leave, and opens each: it must open, and contain all changes acknowledged before. Uses files in a temporary folder.

  --states N            disk states to open (400)
  --seed N              random seed (the clock)
  --life-ms N           duration of each of the three lives of the server (2500)`

/** Written in the last life of the server, so that the database begins a new log. */
const floodMb = 20

export const powerProof: Proof = {
  about: '400 disk states after a power loss, with DURABILITY=disk',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        states: { type: 'string', default: '400' },
        'life-ms': { type: 'string', default: '2500' },
      },
    })
    const seed = seedFrom(values.seed)
    const states = positive('states', values.states)
    print(`seed ${seed}, ${states} states`)
    const lifeMs = positive('life-ms', values['life-ms'])
    const report = await provePower({ seed, states, lifeMs, floodMb, print })
    const { seconds, problems, ...figures } = report
    const { sync = 0, sync_folder: folders = 0, rename = 0 } = figures.operations
    return {
      seed,
      seconds,
      summary: [
        `recorded: ${figures.acknowledged} writes and ${figures.framesAcknowledged} reports over links acknowledged and ` +
          `${figures.eventsReceived} events received, in ` +
          `${Object.values(figures.operations).reduce((sum, count) => sum + count, 0)} operations on files, ` +
          `${sync + folders} of them fsync and ${rename} rename; ${(figures.bytesWritten / 1e6).toFixed(1)} MB`,
        `${figures.states} disk states, ${figures.statesWithMore} with acknowledged changes, ` +
          `${figures.statesWithFrames} with reports over links, ${figures.framesSearched} of those in all: ` +
          (problems.length === 0 ? 'all opened, and held all of it' : 'not all opened, or held all of it'),
      ],
      problems,
    }
  },
}
