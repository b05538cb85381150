// Fills the views of the page.

import { showChanges } from "./changes.js";
import { showChoices } from "./choices.js";
import { showCosts } from "./costs.js";
import { showGraph } from "./graph.js";
import { showPlan } from "./plan.js";
import { showRun } from "./run.js";

showPlan();
showCosts();
showGraph();
showChoices();
showChanges();
showRun();
