import { parseArgs } from 'node:util'
import { proveDisk } from '#bench/proof/disk'
import { type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'

const help = `Usage: npm run proof -- disk [options]

Lets the disk refuse with EIO some call that writes, syncs, names, opens, maps or reads a file of the database: one, after
which all is well again, or from one on (by strace, for the server's process alone), two of three while the server serves;
and fills it up (a small file system of its own; needs root), while the workloads of the kill proof write.

  --refusals N          servers whose disk refuses (36)
  --fillings N          full disks (8)
  --seed N              of chance (the clock)`

export const diskProof: Proof = {
  about: 'a disk that is full, or refuses',
  help,
  async run(args, print) {
    const { values } = parseArgs({
      args: [...args],
      options: {
        ...seedOption,
        refusals: { type: 'string', default: '36' },
        fillings: { type: 'string', default: '8' },
      },
    })
    const seed = seedFrom(values.seed)
    const refusals = positive('refusals', values.refusals)
    print(`seed ${seed}, ${refusals} refusals`)
    const report = await proveDisk({ seed, refusals, fillings: positive('fillings', values.fillings), print })
    const { seconds, problems, ...figures } = report
    return {
      seed,
      seconds,
      said: [
        `${figures.refusals} times EIO, ${figures.serving} of them while the server served, ${figures.once} of them one call ` +
          `alone: ${figures.stopped} did not start and said why, ${figures.readOnly} went on reading and answered writes ` +
          `with 503, ${figures.tookWrites} went on, ${figures.unharmed} were over before`,
        figures.whyNot ??
          `${figures.fillings} full disks: ${figures.wentOn} servers went on by themselves when there was room, ` +
            `${figures.killed} were killed and started again`,
        `${figures.acknowledged} writes acknowledged, and found behind each of them`,
      ],
      problems,
    }
  },
}
