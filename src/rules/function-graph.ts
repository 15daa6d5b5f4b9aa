import type { Graph } from '#model/graph'
import type { Happened, Happening, RunGraph, RunSink, RunTrace } from '#rules/function-list'

/** The graph of a function, compiled once and run for every device that it is bound to. Contract 5.4. */
export class FunctionGraph implements RunGraph {
  readonly id: string
  readonly graph: Graph

  constructor(id: string, graph: Graph) {
    this.id = id
    this.graph = graph
  }

  run(_trigger: number, _happening: Happening, _sink: RunSink, _trace?: RunTrace): void {
    throw new Error('graphs do not run yet')
  }

  fits(_trigger: number, _value: Happened): boolean {
    throw new Error('graphs do not run yet')
  }
}
