import { parseArgs } from 'node:util'
import { proveDisk } from '#bench/proof/disk'
import { type Proof, positive, seedFrom, seedOption } from '#bench/proof/outcome'

const help = `Usage: npm run proof -- disk [options]

Makes calls on files of the database (write, sync, rename, open, map, read) fail with EIO: a single call, or all from some call
on (by strace, only for the server's process), two of three while the server serves. Also fills a disk (a small file system;
needs root) while the workloads of the kill proof write.

  --refusals N          disk faults (36)
  --fillings N          full disks (8)
  --seed N              random seed (the clock)`

export const diskProof: Proof = {
  about: 'full disks and disk errors',
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
    print(`seed ${seed}, ${refusals} disk faults`)
    const report = await proveDisk({ seed, refusals, fillings: positive('fillings', values.fillings), print })
    const { seconds, problems, ...figures } = report
    return {
      seed,
      seconds,
      summary: [
        `${figures.refusals} times EIO, ${figures.serving} of them while the server served, ${figures.once} of them a single ` +
          `call: ${figures.stopped} did not start and printed the reason, ${figures.readOnly} continued read-only and answered writes ` +
          `with 503, ${figures.tookWrites} continued, ${figures.unharmed} were not affected`,
        figures.skipReason ??
          `${figures.fillings} full disks: ${figures.continued} servers continued by themselves when there was space, ` +
            `${figures.killed} were restarted after a kill`,
        `${figures.acknowledged} writes acknowledged, and found after each fault`,
      ],
      problems,
    }
  },
}
