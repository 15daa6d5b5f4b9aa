import type { RunInSlices } from '#rules/bindings'

export const atOnce: RunInSlices = (step) => {
  while (step());
}
